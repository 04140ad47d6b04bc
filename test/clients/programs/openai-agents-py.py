from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from cases import KEY, MODEL, QUESTION, WEATHER, run
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)


class Weather(BaseModel):
    city: str
    celsius: int


@function_tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


def agent(root, **more):
    model = OpenAIChatCompletionsModel(
        model=MODEL, openai_client=AsyncOpenAI(base_url=f"{root}/v1", api_key=KEY, max_retries=0)
    )
    return Agent(name="Helper", instructions="Answer in few words.", model=model, **more)


async def ask(root, **more):
    return (await Runner.run(agent(root, **more), QUESTION)).final_output


async def streamed(root, **more):
    result = Runner.run_streamed(agent(root, **more), QUESTION)
    async for _ in result.stream_events():
        pass
    return result.final_output


run(
    plain=ask,
    stream=streamed,
    tools=lambda root: ask(root, tools=[get_weather]),
    **{"tools-stream": lambda root: streamed(root, tools=[get_weather])},
    structured=lambda root: ask(root, output_type=Weather),
)
