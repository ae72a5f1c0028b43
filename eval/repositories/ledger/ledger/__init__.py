"""Bookkeeping in CSV files."""
