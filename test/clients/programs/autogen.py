from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from cases import KEY, MODEL, QUESTION, WEATHER, run
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


async def get_weather(city: str) -> str:
    """Tells the weather."""
    return WEATHER


def agent(root, **more):
    info = ModelInfo(vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True)
    client = OpenAIChatCompletionClient(model=MODEL, base_url=f"{root}/v1", api_key=KEY, max_retries=0, model_info=info)
    return AssistantAgent("helper", client, **more)


async def ask(root, **more):
    said = (await agent(root, **more).run(task=QUESTION)).messages[-1].content
    return said


async def streamed(root, **more):
    last = None
    async for event in agent(root, model_client_stream=True, **more).run_stream(task=QUESTION):
        last = event
    return last.messages[-1].content


run(
    plain=ask,
    stream=streamed,
    tools=lambda root: ask(root, tools=[get_weather], reflect_on_tool_use=True),
    structured=lambda root: ask(root, output_content_type=Weather),
)
