"""What an agent loop is made of: base classes, the wire's models, errors."""
