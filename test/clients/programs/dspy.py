import sys

sys.path = [path for path in sys.path if not path.endswith("programs")] + ["."]
from cases import KEY, MODEL, QUESTION, WEATHER, run  # noqa: E402

import dspy  # noqa: E402


class Ask(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


def lm(root):
    return dspy.LM(f"openai/{MODEL}", api_base=f"{root}/v1", api_key=KEY, num_retries=0, cache=False)


def direct(root):
    return lm(root)(QUESTION)[0]


run(plain=direct)
