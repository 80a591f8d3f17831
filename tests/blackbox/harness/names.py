"""Settings by name, in one place, so that a renamed setting is one change here."""
from .gate import yaml


def config(upstream, **sections):
    """A configuration with one upstream and `sections` over it, as a mapping.

    `upstream` is an Upstream, a URL, or a mapping of the upstream's own settings.
    """
    default = upstream if isinstance(upstream, dict) else {'url': getattr(upstream, 'url', upstream)}
    return {'upstreams': {'default': default}, **sections}


__all__ = ['config', 'yaml']
