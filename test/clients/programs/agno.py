from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return WEATHER


def agent(root, **more):
    return Agent(model=OpenAILike(id=MODEL, api_key=KEY, base_url=f"{root}/v1", max_retries=0), telemetry=False, **more)


run(
    plain=lambda root: agent(root).run(QUESTION).content,
    stream=lambda root: "".join(event.content or "" for event in agent(root).run(QUESTION, stream=True)),
    tools=lambda root: agent(root, tools=[get_weather]).run(QUESTION).content,
    structured=lambda root: agent(root, output_schema=Weather).run(QUESTION).content,
)
