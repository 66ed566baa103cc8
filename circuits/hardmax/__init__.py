"""Has attention become a hardmax, of which kind, and up to which length?"""
