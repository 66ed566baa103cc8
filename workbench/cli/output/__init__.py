"""What commands print as tables: for people as text, for programs as JSON or CSV with stable keys."""
