"""Signatures: what exceptions and lines look like, and what they mean; tables with a reader."""
