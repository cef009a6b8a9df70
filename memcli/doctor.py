"""What is well and what is not: the place, the store and the models, one check at a time."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from memcli.config import CONFIG_VARIABLE, load_settings
from memcli.errors import MemcliError, ModelError, UsageError
from memcli.memory import Memory
from memcli.models.ollama import is_loopback, list_models, probe, to_url
from memcli.models.vectors import is_unit
from memcli.store.engine import GoneError
from memcli.store.lance import INDEXES, LanceStore
from memcli.store.side import SCHEMA_VERSION, Side
from memcli.types import Filters

State: TypeAlias = Literal["ok", "warn", "fail"]
