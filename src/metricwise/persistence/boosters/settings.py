"""The settings of boosters that model files hold."""

from __future__ import annotations

from typing import Any

# Settings that name files and machines, or hold functions of the training: a model file stores none of them, so that
# training a model from somebody else reads, writes and connects to nothing.
_OF_CATBOOST = """
    eval_file_name fstr_internal_file fstr_regular_file input_borders json_log learn_error_log metadata monitoring
    output_borders profile_log result_model_file roc_file save_snapshot snapshot_file test_error_log time_left_log
    train_dir training_options_file
"""
_OF_LIGHTGBM = """
    config config_file convert_model convert_model_file data data_filename forced_splits forced_splits_file
    forced_splits_filename forcedbins_filename forcedsplits_filename fs input_model is_save_binary is_save_binary_file
    local_listen_port local_port machine_list machine_list_file machine_list_filename machines mlist model_in
    model_input model_out model_output name_pred nodes num_machine num_machines output_model output_result
    parser_config_file port pred_name predict_name predict_result prediction_name prediction_result save_binary
    save_period snapshot_freq test test_data test_data_file train train_data train_data_file valid valid_data
    valid_data_file valid_filenames workers
"""
_OF_XGBOOST = "callbacks coordinator_config"
TRAINING_SETTINGS = frozenset(f"{_OF_CATBOOST} {_OF_LIGHTGBM} {_OF_XGBOOST}".split())


def get_settings(model: Any) -> dict[str, Any]:
    """Return the parameters of a booster that are not its defaults, but for those that belong to the training."""
    defaults = type(model)().get_params()
    return {
        name: value
        for name, value in model.get_params().items()
        if name not in TRAINING_SETTINGS and (name not in defaults or repr(value) != repr(defaults[name]))
    }
