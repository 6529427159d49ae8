"""Stores on SQL engines: one set of verbs and statements, a dialect for each engine."""
