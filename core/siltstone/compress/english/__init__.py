"""Statements about people in English, by rule."""
