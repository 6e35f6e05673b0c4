"""One `fit`: what it is, where it stands, and how it goes on."""
