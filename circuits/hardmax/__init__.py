"""Whether attention has become a hardmax, which kind it is, and up to which length."""
