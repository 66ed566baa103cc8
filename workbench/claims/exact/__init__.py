"""What exact claims rest on: closed forms, enumerations and models made by hand. Nothing here is trained."""
