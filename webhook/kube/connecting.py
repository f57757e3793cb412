"""Which API server, and as whom: the ServiceAccount of the Pod we run in, or a kubeconfig with its exec plugins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kubernetes.client.configuration import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config.incluster_config import SERVICE_HOST_ENV_NAME, SERVICE_TOKEN_FILENAME

from webhook.errors import ClusterError
from webhook.kube.client import Client

_NAMESPACE_FILE: Final = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")


def connect(kubeconfig: str = "", context: str = "", *, prefer_pod: bool = True) -> Client:
    """A client for the API server that is meant; nothing is asked of it yet.

    A kubeconfig or a context that is named decides. Else the ServiceAccount when we run in a Pod, else the usual kubeconfig
    (KUBECONFIG, ~/.kube/config); with `prefer_pod=False` the other way round, as kubectl does. Raises ClusterError.
    """
    named = bool(kubeconfig or context)
    in_pod = not named and _in_pod() and (prefer_pod or not _has_kubeconfig())

    def load() -> Configuration:
        configuration = Configuration()
        try:
            if in_pod:
                load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            else:
                # Nothing is written back: the file is the user's.
                load_kube_config(  # type: ignore[no-untyped-call]
                    kubeconfig or None, context or None, client_configuration=configuration, persist_config=False
                )
        except ConfigException as fault:
            raise ClusterError(_no_configuration(fault, named)) from fault
        except OSError as fault:
            raise ClusterError(f"{fault.filename}: {(fault.strerror or str(fault)).lower()}") from fault
        except Exception as fault:
            # A file that is being written, or is no kubeconfig: what it says is not repeated, it may be a token.
            raise ClusterError(f"the configuration of the client cannot be read ({type(fault).__name__})") from fault
        return configuration

    return Client(load)


def own_namespace(default: str) -> str:
    """The namespace of the Pod we run in, else `default`."""
    try:
        return _NAMESPACE_FILE.read_text().strip() or default
    except OSError:
        return default


def _in_pod() -> bool:
    return bool(os.environ.get(SERVICE_HOST_ENV_NAME)) and Path(SERVICE_TOKEN_FILENAME).is_file()


def _has_kubeconfig() -> bool:
    return bool(os.environ.get("KUBECONFIG")) or Path("~/.kube/config").expanduser().is_file()


def _no_configuration(fault: ConfigException, named: bool) -> str:
    said = " ".join(str(fault).split())
    hint = "" if named else " (name a file with --kubeconfig, or run in a Pod with a ServiceAccount token)"
    return f"no cluster to connect to: {said}{hint}"
