"""LengthLens: is a model scale-robust or length-coupled, what in it makes it so, and since when?"""

__version__ = "0.1.0"
__distribution__ = "lengthlens"
