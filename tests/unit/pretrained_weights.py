"""Weights of TabICL and TabPFN as their packages read them: small networks of these packages with random numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

_REASON = "transformers are candidates only where their package is installed"
_REVISION = "0" * 40
_TABICL = {
    "max_classes": 10,
    "embed_dim": 16,
    "col_num_blocks": 1,
    "col_nhead": 2,
    "col_num_inds": 4,
    "row_num_blocks": 1,
    "row_nhead": 2,
    "row_num_cls": 2,
    "icl_num_blocks": 1,
    "icl_nhead": 2,
}
_TABPFN = {
    "max_num_classes": 10,
    "num_buckets": 8,
    "embed_dim": 16,
    "dist_embed_num_blocks": 1,
    "dist_embed_num_heads": 2,
    "dist_embed_num_inducing_points": 4,
    "feat_agg_num_blocks": 1,
    "feat_agg_num_heads": 2,
    "feat_agg_num_cls_tokens": 2,
    "nlayers": 1,
    "icl_num_heads": 2,
    "decoder_head_dim": 8,
    "decoder_num_heads": 2,
}


def use_folder(package: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let an installed package look for its weights in a folder; return the file that it expects."""
    module = pytest.importorskip(package, reason=_REASON)
    if package == "tabicl":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
        snapshot = folder / "models--jingang--TabICL" / "snapshots" / _REVISION
        return snapshot / str(module.TabICLClassifier().checkpoint_version)
    settings = pytest.importorskip("tabpfn.settings").settings.tabpfn
    monkeypatch.setattr(settings, "model_cache_dir", folder)
    monkeypatch.setattr(settings, "model_version", pytest.importorskip("tabpfn.constants").ModelVersion.V3_5)
    return folder / "tabpfn-v3.5-20260909.safetensors"


def write_weights(package: str, file: Path) -> None:
    """Write the file that `use_folder` returned."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if package == "tabpfn":
        _write_tabpfn(file)
        return
    _write_tabicl(file)
    reference = file.parents[2] / "refs" / "main"
    reference.parent.mkdir(exist_ok=True)
    reference.write_text(_REVISION)


def _write_tabicl(file: Path) -> None:
    import torch
    from tabicl._model import TabICL

    network = _randomise(TabICL(**_TABICL))
    torch.save({"config": _TABICL, "state_dict": network.state_dict()}, file)


def _write_tabpfn(file: Path) -> None:
    from tabpfn.architectures import tabpfn_v3_5
    from tabpfn.checkpoint import save_as_safetensors
    from tabpfn.constants import ModelVersion
    from tabpfn.inference_config import InferenceConfig

    network = _randomise(tabpfn_v3_5.get_architecture(tabpfn_v3_5.parse_config(_TABPFN)[0]))
    checkpoint = {
        "architecture_name": "tabpfn_v3_5",
        "config": _TABPFN,
        "state_dict": network.state_dict(),
        "inference_config": asdict(InferenceConfig.get_default("multiclass", ModelVersion.V2_5)),
    }
    save_as_safetensors(checkpoint, file)


def _randomise(network: Any) -> Any:
    """Draw all weights: their initial values make predictions the same for all samples."""
    import torch

    generator = torch.Generator().manual_seed(0)
    for weights in network.parameters():
        torch.nn.init.normal_(weights, std=0.3, generator=generator)
    return network
