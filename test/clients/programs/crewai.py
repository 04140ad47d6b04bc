import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from cases import KEY, MODEL, QUESTION, WEATHER, run  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from crewai import LLM, Agent  # noqa: E402
from crewai.tools import tool  # noqa: E402


class Weather(BaseModel):
    city: str
    celsius: int


@tool("get_weather")
def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


def llm(root, **more):
    return LLM(model=f"openai/{MODEL}", base_url=f"{root}/v1", api_key=KEY, **more)


def agent(root, **more):
    return Agent(role="Helper", goal="Answer.", backstory="You help.", llm=llm(root), verbose=False, max_iter=3, **more)


run(
    plain=lambda root: llm(root).call(QUESTION),
    stream=lambda root: llm(root, stream=True).call(QUESTION),
    tools=lambda root: agent(root, tools=[get_weather]).kickoff(QUESTION).raw,
    structured=lambda root: agent(root).kickoff(QUESTION, response_format=Weather).pydantic,
)
