"""On how few tokens does an answer depend?"""
