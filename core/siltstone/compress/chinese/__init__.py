"""Statements about people in Chinese, by rule."""
