"""The arithmetic of exact claims: closed forms, enumerations and handmade models. Nothing here is trained."""
