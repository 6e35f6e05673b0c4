"""`pitstop export`: a saved state in formats that others read, the run left as it is."""
