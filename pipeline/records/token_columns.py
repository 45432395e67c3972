"""The columns of token parts, in which a trainer finds the turns of rollouts, and how such a file is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

TOKEN_SCHEMA = pa.schema(
    [
        pa.field("case", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
        pa.field("rollout", pa.int32(), nullable=False),
        pa.field("turn", pa.int32(), nullable=False),
        pa.field("branch", pa.int32()),
        pa.field("prompt_token_ids", pa.list_(pa.int32())),
        pa.field("response_token_ids", pa.list_(pa.int32())),
        pa.field("response_mask", pa.list_(pa.uint8())),
        pa.field("old_logprobs", pa.list_(pa.float32())),
        pa.field("reward", pa.float64()),
        pa.field("reward_components", pa.map_(pa.string(), pa.float64())),
        pa.field("fault_owner", pa.string()),
        pa.field("trainable", pa.bool_(), nullable=False),
        pa.field("weight_version_min", pa.string()),
        pa.field("weight_version_max", pa.string()),
        pa.field("session", pa.string()),
    ]
)
"""One row a turn. The arrays and `branch` are null where the rollout is not trainable, a logprob where the mask is 0.

`weight_version_min` is the version that sampled the first token of a response, `weight_version_max` the last's.
"""

_TOKENS = ("prompt_token_ids", "response_token_ids", "old_logprobs")

TOKEN_WRITER: Mapping[str, Any] = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": ["case", "split", "fault_owner", "weight_version_min", "weight_version_max", "session"],
    "column_encoding": {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in _TOKENS},
    "write_statistics": ["case", "split", "group", "rollout", "turn", "branch", "reward", "fault_owner", "trainable"],
    "write_page_checksum": True,
    "version": "2.6",
    "data_page_version": "1.0",
    "store_schema": True,
}
"""Settings of pyarrow's writer. Token columns have no dictionary, which would cost time and save nothing."""
