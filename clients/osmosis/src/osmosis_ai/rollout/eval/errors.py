"""What goes wrong when agents are tried out."""


class DatasetParseError(Exception):
    """A dataset can't be read."""


class DatasetValidationError(Exception):
    """A row of a dataset is not valid."""


class EvalFnError(Exception):
    """An evaluation function can't be used, or gave no score."""


class ProviderError(Exception):
    """The model did not answer; another row may do better."""


class SystemicProviderError(ProviderError):
    """The model can't be used at all, so further rows are not tried."""
