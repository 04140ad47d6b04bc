/**
 * Providers that break the rules of their dialect, on translated paths in both directions: the client's SDK reads the right
 * answer or an error of its own dialect, never a part as the whole, and the process answers the next request.
 */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { idle } from "../support/metrics.ts";
import { reply, type Script, startEvents, writeChunk } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { isError, isSound, isSoundOrError, JSON_TYPE, readerOf, STREAMED, soundly } from "./support/reading.ts";
import { DONE, framesOf, SOUND, SOUND_READ, sends, startAs, startHostile, TEXT } from "./support/scripted.ts";
import { FORMS } from "./support/sdk-answer.ts";

const hostile = await startHostile({ after });
const { gateway } = hostile;
const read = readerOf(hostile);
const DIALECTS = ["compat", "messages"] as const;
const MEBIBYTE = 1 << 20;
/** Number of compat frames that contain the complete answer. */
const FINISHED_AT = 7;

afterEach(async () => {
  for (const dialect of DIALECTS) isSound(await read(dialect, "raw", soundly(dialect, "raw")));
  await idle(gateway);
});

for (const dialect of DIALECTS) {
  const { events, whole } = SOUND[dialect];
  const frames = framesOf(dialect, events);
  const from = `a ${dialect} provider`;

  test(`${from} that follows the rules is read correctly in every form`, async () => {
    for (const form of FORMS) isSound(await read(dialect, form, soundly(dialect, form)));
  });

  test(`${from} whose stream comes byte by byte, split within characters too, is read correctly`, async () => {
    const bytes = Buffer.from(frames.join(""));
    const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    for (const form of STREAMED) isSound(await read(dialect, form, sends(...pieces)));
  });

  test(`${from} with other line endings, comments and unknown fields is read correctly`, async () => {
    const withComments = frames.map(
      (frame) => `: still here\r\nid: 1\r\nretry: 5\r\n${frame.replaceAll("\n", "\r\n")}`,
    );
    for (const form of STREAMED) isSound(await read(dialect, form, sends("\ufeff", ...withComments)));
    const bare = frames.map((frame) => frame.replaceAll(": ", ":").replaceAll("\n", "\r"));
    for (const form of STREAMED) isSound(await read(dialect, form, sends(...bare)));
  });

  test(`${from} with a line of one mebibyte is read correctly`, async () => {
    const long = "long ".repeat(MEBIBYTE / 5);
    const longer = events.map((event) => JSON.parse(JSON.stringify(event).replace(TEXT.slice(7), long)) as object);
    const comment = `: ${"x".repeat(MEBIBYTE)}\n\n`;
    for (const form of STREAMED) {
      const answer = await read(dialect, form, sends(comment, ...framesOf(dialect, longer)));
      assert.ok(answer.kind === "answer", JSON.stringify(answer).slice(0, 200));
      assert.equal(answer.text, TEXT.slice(0, 7) + long);
    }
  });

  test(`${from} whose connection is cut at the end of an event is never taken as complete`, async () => {
    // The compat answer is complete with its finish reason, with or without an end marker.
    const wholeFrom = dialect === "compat" ? FINISHED_AT : frames.length;
    for (let count = 0; count <= frames.length; count++) {
      for (const form of STREAMED) {
        const cut = await read(dialect, form, (socket) => {
          startEvents(socket);
          for (const frame of frames.slice(0, count)) writeChunk(socket, frame);
          socket.end();
        });
        if (count >= wholeFrom) isSoundOrError(cut);
        else isError(cut);
      }
    }
  });

  test(`${from} whose stream ends before its answer is complete is an error`, async () => {
    const finishAt = dialect === "compat" ? FINISHED_AT : events.length;
    for (let count = 0; count < finishAt; count++) {
      for (const form of STREAMED) isError(await read(dialect, form, sends(...frames.slice(0, count))));
    }
  });

  test(`${from} that reorders its events is read correctly or refused`, async () => {
    for (let at = 0; at + 1 < events.length; at++) {
      const swapped = [...events];
      [swapped[at], swapped[at + 1]] = [events[at + 1] ?? {}, events[at] ?? {}];
      const twice = [...events.slice(0, at), ...events.slice(at, at + 1), ...events.slice(at)];
      const without = [...events.slice(0, at), ...events.slice(at + 1)];
      for (const form of STREAMED) {
        for (const mixed of [swapped, twice, without]) {
          // A duplicated or missing frame is a different answer of the same grammar.
          assert.ok(await read(dialect, form, sends(...framesOf(dialect, mixed))));
        }
      }
    }
  });

  test(`${from} with missing or wrongly typed members yields an answer or an error`, async () => {
    for (const form of FORMS) {
      const sent = form === "unary" ? [whole] : events;
      for (const spoilt of sent.flatMap((event, at) => spoils(event).map((it) => sent.with(at, it)))) {
        const body = JSON.stringify(spoilt[0]);
        const script: Script =
          form === "unary"
            ? (socket) => reply(socket, { headers: JSON_TYPE, body })
            : sends(...framesOf(dialect, spoilt));
        assert.ok(await read(dialect, form, script));
      }
    }
  });

  test(`${from} that reports no usage is read correctly`, async () => {
    const bare = events.map(withoutUsage).filter((event) => !("choices" in event && `${event.choices}` === ""));
    for (const form of STREAMED) isSound(await read(dialect, form, sends(...framesOf(dialect, bare))));
    const body = JSON.stringify(withoutUsage(whole));
    isSound(await read(dialect, "unary", (socket) => reply(socket, { headers: JSON_TYPE, body })));
  });

  test(`${from} that continues after its end is disconnected, and the answer is what came before`, async () => {
    for (const form of STREAMED) {
      let isLeft = false;
      const answer = await read(dialect, form, (socket) => {
        startEvents(socket);
        for (const frame of frames) writeChunk(socket, frame);
        socket.once("close", () => {
          isLeft = true;
        });
        const more = (): void => {
          if (socket.destroyed) return;
          if (writeChunk(socket, (frames[1] ?? "").repeat(20))) setImmediate(more);
          else socket.once("drain", more);
        };
        more();
      });
      isSound(answer);
      await eventually("the provider is left", () => isLeft);
    }
  });

  test(`${from} that falls silent after its answer is disconnected, and the client does not wait for it`, async () => {
    let left = 0;
    for (const form of STREAMED) {
      const answer = await read(dialect, form, (socket) => {
        startEvents(socket);
        for (const frame of frames) writeChunk(socket, frame);
        socket.once("close", () => {
          left += 1;
        });
      });
      isSound(answer);
    }
    await eventually("the provider is left", () => left === STREAMED.length);
  });

  test(`${from} that answers 200 with an error is an error`, async () => {
    const error = { type: "overloaded_error", message: "busy", code: null, param: null };
    const body = JSON.stringify(dialect === "messages" ? { type: "error", error } : { error });
    for (const form of FORMS) {
      isError(await read(dialect, form, (socket) => reply(socket, { headers: JSON_TYPE, body })));
    }
    const frame = dialect === "messages" ? `event: error\ndata: ${body}\n\n` : `data: ${body}\n\n`;
    for (const form of STREAMED) {
      for (const at of [0, 1, 3]) isError(await read(dialect, form, sends(...frames.slice(0, at), frame)));
    }
  });

  test(`${from} that sends a whole answer to a streaming request is read correctly`, async () => {
    const body = JSON.stringify(whole);
    for (const form of STREAMED)
      isSound(await read(dialect, form, (socket) => reply(socket, { headers: JSON_TYPE, body })));
  });

  test(`${from} that streams to a request for a whole answer is read correctly or refused`, async () => {
    isSoundOrError(await read(dialect, "unary", sends(...frames)));
  });

  test(`${from} with a wrong content type is read correctly or refused`, async () => {
    for (const type of ["text/html", "application/json", "text/plain", "application/octet-stream", ""]) {
      for (const form of FORMS) {
        const script: Script = (socket) => {
          startAs(socket, type);
          writeChunk(socket, form === "unary" ? JSON.stringify(whole) : frames.join(""));
          socket.end("0\r\n\r\n");
        };
        isSoundOrError(await read(dialect, form, script));
      }
    }
  });

  test(`${from} with no content in its answer is an error that quotes nothing of it`, async () => {
    const page = "<html><body>secret-of-the-page</body></html>";
    for (const [type, body] of [
      ["text/html", page],
      ["application/json", page],
      ["application/json", ""],
      ["application/json", "null"],
      ["application/json", "[]"],
      ["application/json", '"text"'],
      ["application/json", '{"half":'],
      ["application/json", "{}"],
    ] as const) {
      for (const form of FORMS) {
        const answer = await read(dialect, form, (socket) =>
          reply(socket, { headers: [`Content-Type: ${type}`], body }),
        );
        isError(answer);
        assert.doesNotMatch(JSON.stringify(answer), /secret-of-the-page/);
      }
    }
    for (const form of STREAMED) {
      isError(await read(dialect, form, sends(`data: ${page}\n\n`)));
      isError(await read(dialect, form, sends()));
    }
  });
}

test("two tool calls of a compat provider under one index stay two or become an error", async () => {
  const { events } = SOUND.compat;
  const second = JSON.parse(JSON.stringify(events.slice(3, 6)).replace("call_1", "call_2")) as object[];
  const twice = [...events.slice(0, 6), ...second, ...events.slice(6)];
  for (const form of STREAMED) {
    const answer = await read("compat", form, sends(...framesOf("compat", twice)));
    if (answer.kind === "answer") assert.deepEqual(answer.calls, [...SOUND_READ.calls, ...SOUND_READ.calls]);
  }
});

test("two blocks of a messages provider under one index stay two or become an error", async () => {
  const { events } = SOUND.messages;
  const second = JSON.parse(JSON.stringify(events.slice(6, 10)).replace("toolu_1", "toolu_2")) as object[];
  const twice = [...events.slice(0, 10), ...second, ...events.slice(10)];
  for (const form of STREAMED) {
    const answer = await read("messages", form, sends(...framesOf("messages", twice)));
    if (answer.kind === "answer") assert.deepEqual(answer.calls, [...SOUND_READ.calls, ...SOUND_READ.calls]);
  }
});

test("a compat provider that sends no end marker has still answered", async () => {
  for (const form of STREAMED) {
    isSound(await read("compat", form, sends(...framesOf("compat", SOUND.compat.events).filter((it) => it !== DONE))));
  }
});

const WRONG: readonly unknown[] = [undefined, null, -1, "wrong", [], {}];

/** Returns the event with each of its members missing or replaced, at any depth. */
function spoils(event: object): readonly object[] {
  const spoilt: object[] = [];
  for (const [name, value] of Object.entries(event)) {
    for (const wrong of WRONG) spoilt.push({ ...event, [name]: wrong });
    if (Array.isArray(value)) {
      for (const each of value) {
        if (typeof each === "object") for (const it of spoils(each)) spoilt.push({ ...event, [name]: [it] });
      }
    } else if (typeof value === "object" && value !== null) {
      for (const it of spoils(value)) spoilt.push({ ...event, [name]: it });
    }
  }
  return spoilt;
}

function withoutUsage(event: object): object {
  return JSON.parse(JSON.stringify(event, (name, value: unknown) => (name === "usage" ? undefined : value))) as object;
}
