from cases import KEY, MODEL, QUESTION, WEATHER, run
from openai import AsyncOpenAI
from pydantic import BaseModel
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.functions import KernelArguments, kernel_function


class Weather(BaseModel):
    city: str
    celsius: int


class Plugin:
    @kernel_function(name="get_weather", description="Tells the weather.")
    def get_weather(self, city: str) -> str:
        return WEATHER


def agent(root, **more):
    client = AsyncOpenAI(base_url=f"{root}/v1", api_key=KEY, max_retries=0)
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)
    return ChatCompletionAgent(service=service, name="helper", instructions="Answer in few words.", **more)


async def ask(root, **more):
    return str((await agent(root, **more).get_response(messages=QUESTION)).content)


async def stream(root):
    said = ""
    async for chunk in agent(root).invoke_stream(messages=QUESTION):
        said += str(chunk.content)
    return said


def structured(root):
    settings = OpenAIChatPromptExecutionSettings(response_format=Weather)
    return ask(root, arguments=KernelArguments(settings=settings))


run(plain=ask, stream=stream, tools=lambda root: ask(root, plugins=[Plugin()]), structured=structured)
