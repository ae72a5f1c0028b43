"""A small inventory kept in a JSON file."""
