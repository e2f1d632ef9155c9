"""What an API is: registries and overlays make an immutable model, and everything else is made from that."""
