import os

from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel
from strands import Agent, tool


class Weather(BaseModel):
    """The weather."""

    city: str
    celsius: int


@tool
def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return WEATHER


def model(root):
    if os.environ.get("KIND") == "anthropic":
        from strands.models.anthropic import AnthropicModel

        return AnthropicModel(client_args={"api_key": KEY, "base_url": root, "max_retries": 0}, model_id=MODEL, max_tokens=1024)
    from strands.models.openai import OpenAIModel

    return OpenAIModel(client_args={"api_key": KEY, "base_url": f"{root}/v1", "max_retries": 0}, model_id=MODEL)


def ask(root, **more):
    return str(Agent(model=model(root), callback_handler=None, **more)(QUESTION))


run(
    stream=ask,
    tools=lambda root: ask(root, tools=[get_weather]),
    structured=lambda root: Agent(model=model(root), callback_handler=None).structured_output(Weather, QUESTION),
)
