"""What a library's exception means for the caller of a store: the one place where they become our own errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from pipeline.errors import (
    AssayError,
    DeniedError,
    ExistsError,
    InputError,
    MissingError,
    RetryError,
    StoreError,
    UnavailableError,
)

_LIBRARIES = ("botocore", "aiobotocore", "aiohttp", "azure", "gcsfs", "google", "requests", "urllib3")
_ASK_AGAIN = frozenset({408, 409, 425, 429})
NO_BUCKET = "the bucket or container does not exist; create it, or correct the store's URL"
_NO_ACCESS = "no access; check the credentials and the permissions of the bucket or folder"
_EXPIRED = "the credentials have expired; renew them, then run the same command again"
_FULL = "the store is full or its quota is used up; make room there, then run the same command again"
_CLOCK = "the clock of this machine is not that of the store; set it, then run the same command again"
_CODES: dict[str, tuple[type[StoreError], str]] = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "RequestExpired"), (DeniedError, _EXPIRED)),
    **dict.fromkeys(("QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"), (UnavailableError, _FULL)),
    "RequestTimeTooSkewed": (DeniedError, _CLOCK),
}
"""What the body of a reply says more exactly than its status: AWS answers an expired token with 400."""
_ERRNO: dict[int, tuple[type[StoreError], str]] = {
    errno.ENOSPC: (UnavailableError, "the disk is full; free some space, then run the same command again"),
    errno.EDQUOT: (UnavailableError, "the disk quota is used up; free some space, then run the same command again"),
    errno.EFBIG: (UnavailableError, "a file may not become so large here; raise the limit (ulimit -f)"),
    errno.EROFS: (DeniedError, "the file system is read-only; use another folder as the store"),
    errno.EACCES: (DeniedError, _NO_ACCESS),
    errno.EPERM: (DeniedError, _NO_ACCESS),
    errno.ENOTDIR: (DeniedError, "a file stands where a folder is needed; use another folder as the store"),
    errno.EISDIR: (MissingError, "is a folder, not an object"),
    errno.ENAMETOOLONG: (DeniedError, "the name is too long for this store; use a shorter name"),
}


def translate(error: Exception, where: str, key: str | None) -> Exception:
    """Our own error for a library's one; the error itself where it is no fault of a store.

    Args:
        where: store and key for the message, without credentials.
    """
    if isinstance(error, AssayError):
        return error
    if is_missing_bucket(error):
        return DeniedError(f"{where}: {NO_BUCKET}", key)
    if isinstance(error, FileExistsError):
        return ExistsError(f"{where}: exists already", key)
    if isinstance(error, FileNotFoundError):
        return MissingError(f"{where}: not found", key)
    code = _error_code(error)
    if code in _CODES:
        kind, text = _CODES[code]
        return kind(f"{where}: {text} ({_brief(error)})", key)
    status = http_status(error)
    if status == 507:
        return UnavailableError(f"{where}: {_FULL} ({_brief(error)})", key)
    if status is not None:
        return _from_status(status, error, where, key)
    return _from_kind(error, where, key)


def _from_status(status: int, error: Exception, where: str, key: str | None) -> StoreError:
    if status == 412:
        return ExistsError(f"{where}: exists already", key)
    if status == 404:
        return MissingError(f"{where}: not found", key)
    if status in (401, 403):
        return DeniedError(f"{where}: {_NO_ACCESS} (HTTP {status}: {_brief(error)})", key)
    if status in _ASK_AGAIN or status >= 500:
        return RetryError(f"{where}: HTTP {status}: {_brief(error)}", key)
    return DeniedError(f"{where}: the store refused the request (HTTP {status}: {_brief(error)}); check its URL", key)


def _from_kind(error: Exception, where: str, key: str | None) -> Exception:
    name = type(error).__name__
    if name in (
        "NoCredentialsError",
        "PartialCredentialsError",
        "ClientAuthenticationError",
        "DefaultCredentialsError",
    ):
        return DeniedError(f"{where}: no credentials found ({_brief(error)}); set them in the environment", key)
    if isinstance(error, OSError):
        if isinstance(error, PermissionError):
            return DeniedError(f"{where}: {_NO_ACCESS} ({_brief(error)})", key)
        if error.errno in _ERRNO:
            kind, text = _ERRNO[error.errno]
            return kind(f"{where}: {text}", key)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return RetryError(f"{where}: too many files are open; raise the limit (ulimit -n)", key)
        return RetryError(f"{where}: {_brief(error)}", key)
    if isinstance(error, ValueError) and "endpoint" in str(error):  # botocore's, when the client is made
        return InputError(f"{where}: {_brief(error)}; correct endpoint_url (AWS_ENDPOINT_URL), http://host:port")
    if isinstance(error, TimeoutError) or type(error).__module__.split(".")[0] in _LIBRARIES:
        return RetryError(f"{where}: {_brief(error)}", key)
    return error


def http_status(error: BaseException) -> int | None:
    """The HTTP status behind an exception: botocore, gcsfs, azure and aiohttp each keep it elsewhere."""
    for link in _chain(error):
        response = getattr(link, "response", None)
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        else:
            status = getattr(link, "status_code", None) or getattr(link, "status", None) or getattr(link, "code", None)
        if isinstance(status, int | str) and str(status).isdigit() and 400 <= int(status) < 600:
            return int(status)
    return None


def _error_code(error: BaseException) -> str | None:
    """The code in the body of an S3 store's reply."""
    for link in _chain(error):
        response = getattr(link, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code"))
    return None


def is_missing_bucket(error: Exception) -> bool:
    """Whether the client says that the bucket or container itself is not there."""
    names = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist", "container does not exist")
    return any(
        name in str(getattr(link, "response", "")) + str(getattr(link, "error_code", "")) + str(link)
        for link in _chain(error)
        for name in names
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    # Five links are more than any client wraps; the bound guards against cycles. An error of ours further up is of
    # another call: a create that found something, say, while what it found is read back.
    link: BaseException | None = error
    for _ in range(5):
        if link is None or isinstance(link, AssayError):
            return
        yield link
        link = link.__cause__ or link.__context__


def _brief(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + "…"
