"""An external provider's package, as an image of its own would bring it."""
