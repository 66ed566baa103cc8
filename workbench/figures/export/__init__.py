"""Figures as SVG, PDF, PNG and HTML files, written without a browser."""
