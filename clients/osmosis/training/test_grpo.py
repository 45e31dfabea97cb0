"""Two real steps of TRL's ``GRPOTrainer``, with a model of 2.6 million weights made on the spot."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "fakes"))

from model_server import ModelServer

from osmosis_ai import osmosis_reward
from osmosis_ai.trainers.trl import trl_reward

WORDS = ["<pad>", "<eos>", "<unk>", "say", "yes", "no", "please", "a", "b", "c"]


@osmosis_reward
def says_yes(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    assert ground_truth == "yes"
    assert extra_info is not None
    assert extra_info["level"] in {"easy", "hard"}
    return float(solution_str.split().count("yes"))


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )


def model() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    tokens = {"vocab_size": len(WORDS), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads, **tokens, max_position_embeddings=64))


def test_two_steps_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    data = Dataset.from_list(
        [
            {"prompt": "say yes please", "ground_truth": "yes", "level": level}
            for level in ("easy", "hard") * 4
        ]
    )
    seen: list[Any] = []
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-training")
        server.script([{"times": "forever", "mode": "hash"}])
        judged = trl_reward(
            rubric="The text says yes.",
            model_info={"provider": "openai", "model": "gpt-4o"},
            timeout=30,
        )

        def rubric(**columns: Any) -> Any:
            rewards = judged(**columns)
            # As if the judge had failed for it.
            rewards[0] = None
            seen.append((len(columns["completions"]), rewards))
            return rewards

        config = GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=2,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=8,
            report_to=[],
            use_cpu=True,
            bf16=False,
            logging_steps=1,
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=model(),
            processing_class=tokenizer(),
            reward_funcs=[trl_reward(says_yes), rubric],
            args=config,
            train_dataset=data,
        )
        before = {name: one.detach().clone() for name, one in trainer.model.named_parameters()}
        result = trainer.train()
    assert result.global_step == 2
    assert [count for count, _ in seen] == [4, 4]
    assert all(len(rewards) == 4 and rewards[0] is None for _, rewards in seen)
    assert all(0 <= one <= 1 for _, rewards in seen for one in rewards if one is not None)
    log = [one for one in trainer.state.log_history if "reward" in one]
    assert len(log) == 2
    assert all(one["reward"] == one["reward"] for one in log), "a reward is NaN"
    after = dict(trainer.model.named_parameters())
    assert all(one.isfinite().all() for one in after.values())
    assert any((after[name].cpu() != one.cpu()).any() for name, one in before.items())
