import instructor
from cases import KEY, MODEL, QUESTION, run
from openai import OpenAI
from pydantic import BaseModel


class Weather(BaseModel):
    city: str
    celsius: int


def ask(mode):
    def make(root):
        client = instructor.from_openai(OpenAI(base_url=f"{root}/v1", api_key=KEY, max_retries=0), mode=mode)
        return client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": QUESTION}], response_model=Weather, max_retries=0
        )

    return make


run(
    tools=ask(instructor.Mode.TOOLS),
    structured=ask(instructor.Mode.JSON_SCHEMA),
)
