"""Writes the JSON Schemas of the formats beside their models: `make schemas`, after a model was changed."""

from __future__ import annotations

from pathlib import Path

from pipeline.records.json_schema import schema_files

FOLDER = Path(__file__).resolve().parents[3] / "pipeline" / "records" / "schemas"


def main() -> None:
    files = schema_files()
    for path in FOLDER.glob("*.json"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
