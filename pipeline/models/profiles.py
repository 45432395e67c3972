"""Finds the profile of a name: in the file that the user gave, here, in the user's folder, among the built-in ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.records.names import nearest
from pipeline.records.provider_profile import BUILT_IN, ProviderProfile, load_provider_file

FILE_NAME = "assay-providers.yaml"
OPTION = "--providers"


class _Place(NamedTuple):
    file: Path
    is_named: bool
    """Whether the user gave it: then it must be there."""
    may_load: bool
    """Whether code beside it may be run: the user named the file, or it lies in the user's own folder.

    A file that merely lies where a command is run came perhaps with a repository that nobody has read.
    """


def find_profile(name: str, path: Path | None, environment: Mapping[str, str]) -> ProviderProfile:
    """The profile called `name`: of the first file that has it, else a built-in one.

    Args:
        name: as a spec or a command gives it.
        path: the file of `--providers`; None: none was given.
        environment: tells where the user's folder is.

    Raises:
        InputError: no such profile, with where was looked and the nearest name; a file that cannot be used.
    """
    known: list[str] = []
    looked: list[str] = []
    for place in _places(path, environment):
        found = _profiles(place)
        if found is None:
            looked.append(f"{place.file} (not there)")
            continue
        for profile in found:
            if profile.name == name:
                return profile.placed(place.file.resolve().parent, may_load=place.may_load)
        looked.append(str(place.file))
        known += [profile.name for profile in found]
    if name in BUILT_IN:
        return BUILT_IN[name]
    hint = nearest(name, dict.fromkeys([*known, *BUILT_IN]))
    raise InputError(f"there is no provider {name!r}{hint}; looked in {', '.join(looked)} and the built-in ones")


def user_folder(environment: Mapping[str, str]) -> Path | None:
    """Where the user keeps settings of assay; None: the environment does not tell."""
    for variable in ("XDG_CONFIG_HOME", "APPDATA"):
        if Path(environment.get(variable, "")).is_absolute():
            return Path(environment[variable]) / "assay"
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) / ".config" / "assay" if home else None


def _places(path: Path | None, environment: Mapping[str, str]) -> Iterator[_Place]:
    if path is not None:
        yield _Place(path, is_named=True, may_load=True)
    yield _Place(Path(FILE_NAME), is_named=False, may_load=False)
    if folder := user_folder(environment):
        yield _Place(folder / FILE_NAME, is_named=False, may_load=True)


def _profiles(place: _Place) -> tuple[ProviderProfile, ...] | None:
    """The profiles of a file; None: it is not there, and need not be."""
    try:
        data = place.file.read_bytes()
    except FileNotFoundError:
        if place.is_named:
            raise InputError(f"{OPTION} {place.file}: there is no such file") from None
        return None
    except OSError as error:
        raise InputError(f"{place.file}: cannot be read: {error.strerror or error}") from None
    return load_provider_file(data, str(place.file)).providers
