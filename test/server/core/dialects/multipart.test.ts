/** One text field of a form; and forms of which a provider may read another field. */
import assert from "node:assert/strict";
import test from "node:test";
import { boundaryOf, findField } from "../../../../src/server/core/dialects/index.ts";

const part = (disposition: string, value = "other"): string =>
  `--B\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
const allowed = part('name="model"', "allowed");
const read = (text: string) => findField(Buffer.from(text, "latin1"), "B", "model");

test("a field is found among files, with the position of its value", () => {
  const file = part('name="file"; filename="a; name=model.wav"', "\r\n--not-B\r\n");
  const text = `${file}${allowed}--B--\r\n`;
  const field = read(text);
  assert.ok(field.kind === "field");
  assert.equal(field.value, "allowed");
  assert.equal(text.slice(field.start, field.end), "allowed");
  assert.equal(read(`${file}--B--`).kind, "absent");
  assert.equal(read(`preamble\r\n${part("name=model", "")}--B--`).kind, "field");
});

const ambiguous: Readonly<Record<string, string>> = {
  "a second field": `${allowed}${part('name="model"')}--B--`,
  "a field that is also a file": `${allowed}${part('name="model"; filename=""')}--B--`,
  "a name in an extended parameter": `${allowed}${part("name*=utf-8''model")}--B--`,
  "a name with escapes": `${allowed}${part('name="mo\\del"')}--B--`,
  "two names": `${allowed}${part('name="x"; name="model"')}--B--`,
  "a folded header": `${allowed}${part('\r\n name="model"')}--B--`,
  "two dispositions": `${allowed}--B\r\nContent-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--B--`,
  "one-byte line ends": `${allowed}--B\r\nContent-Disposition: form-data; name="x"\r\n\r\na\n--B\nContent-Disposition: form-data; name="model"\n\nother\r\n--B--`,
  "a part after the end": `${allowed}--B--\r\n${part('name="model"')}--B--`,
  "an invalid end": `${allowed}--B--x\r\n${part('name="model"')}--B--`,
  "a part before the start": `\n--B\nContent-Disposition: form-data; name="model"\n\nother\n${allowed}--B--`,
};
for (const [what, text] of Object.entries(ambiguous)) {
  test(`a form with ${what} is refused`, () => assert.equal(read(text).kind, "problem"));
}

test("a form with two boundaries is refused", () => {
  assert.equal(boundaryOf("multipart/form-data; boundary=----WebKitFormBoundary7MA4"), "----WebKitFormBoundary7MA4");
  assert.equal(boundaryOf('multipart/form-data; charset=utf-8; boundary="a b"'), "a b");
  for (const type of ["boundary=A; boundary=B", 'x="; boundary=A"; boundary=B', "x"]) {
    assert.equal(boundaryOf(`multipart/form-data; ${type}`), undefined, type);
  }
});
