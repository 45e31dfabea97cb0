"""What the command line says instead of a stack trace."""


class CLIError(Exception):
    """Something is wrong with what the command was given; the message says what to do."""
