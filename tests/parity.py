"""A real checkpoint against Transformers, float32: python -m tests.parity DIR [--new-tokens 32]

Twenty prompts through the chat template (or as they stand): the largest difference of any logit over the prompt, and the greedy
continuations of both. Prints a line a prompt; exit status 1 if a logit differs by more than 2e-4 or a token does. Minutes on a CPU.
"""

import argparse
import sys

import jax.numpy as jnp
import numpy as np
import torch
import transformers

import domino_jax
from domino_jax import cache

TOLERANCE = 2e-4
PROMPTS = [
    "Why is the sky blue?", "Name three rivers.", "What is 17 + 25?", "Write a haiku about rain.",
    "Explain what a prime number is to a child.", "Translate to French: The train is late.", "List five things to pack for the beach.",
    "Write a Python function that reverses a string.", "What is the capital of Mongolia?", "Summarise: Bees make honey.",
    "Who wrote Don Quixote?", "Give me a synonym for happy.", "How do I boil an egg?", "What comes after Thursday?",
    "Correct the grammar: She go to school every days.", "Why do leaves fall in autumn?", "Count from one to ten.",
    "Write a polite reply that declines an invitation.", "What is the boiling point of water in Fahrenheit?", "Tell me a joke about cats.",
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--new-tokens", type=int, default=32)
    arguments = parser.parse_args()
    engine = domino_jax.load(arguments.directory, dtype="float32")
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.directory, dtype=torch.float32, attn_implementation="eager").eval()
    prompts = [engine.prompt(text) if engine.text.tokenizer.chat_template else engine.text.encode(text) for text in PROMPTS]
    results = engine.generate(prompts, max_new_tokens=arguments.new_tokens, batch_size=1)
    failed = 0
    for text, result in zip(PROMPTS, results, strict=True):
        ids = torch.tensor([result.prompt_ids])
        with torch.no_grad():
            theirs = model(ids).logits[0].numpy()
            written = model.generate(ids, max_new_tokens=arguments.new_tokens, do_sample=False)[0, ids.shape[1] :].tolist()
        slot_1T = np.arange(len(result.prompt_ids))[None]
        empty = cache.allocate(engine.target.config, 1, slot_1T.shape[1], jnp.float32)
        hidden_1TD, _, _ = engine.target.forward(jnp.array([result.prompt_ids]), slot_1T, slot_1T, empty)
        difference = float(np.abs(np.asarray(engine.target.embedder.decode(hidden_1TD))[0] - theirs).max())
        equal = written == result.output_ids
        failed += difference > TOLERANCE or not equal
        print(f"{'ok  ' if equal and difference <= TOLERANCE else 'FAIL'}  {difference:.1e}  {len(written)} tokens  {text}", flush=True)
    print(f"{len(PROMPTS) - failed} of {len(PROMPTS)} prompts: logits within {TOLERANCE}, greedy ids equal")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
