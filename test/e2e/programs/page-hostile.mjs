/**
 * A page of another origin that tries to spend the key of a gateway without a credential, by every request that a page
 * may send.
 */
const { gateway } = Object.fromEntries(new URLSearchParams(location.search));
const chat = JSON.stringify({ model: "sim-1", messages: [{ role: "user", content: "spend it" }] });
const path = `${gateway}/v1/chat/completions`;

const sent = (init, url = path) =>
  fetch(url, init).then(
    (response) => `${response.type} ${response.status}`,
    () => "no answer",
  );
/** Resolves once the browser has loaded the element's content. */
const loaded = (name, source) =>
  new Promise((done) => {
    const element = document.createElement(name);
    element.onload = () => done("loaded");
    element.onerror = () => done("no answer");
    element.src = source;
    document.body.append(element);
  });
const submitted = (enctype) =>
  new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.name = `frame-${enctype}`;
    const form = document.createElement("form");
    Object.assign(form, { action: path, method: "post", enctype, target: frame.name });
    const field = document.createElement("input");
    // As text/plain this is JSON whose last member contains the form's own equals sign.
    field.name = chat.replace(/}$/, ',"user":"');
    field.value = '"}';
    form.append(field);
    document.body.append(frame, form);
    frame.onload = () => done("submitted");
    form.submit();
  });

const results = {
  "text/plain": await sent({ method: "POST", mode: "no-cors", body: chat, headers: { "content-type": "text/plain" } }),
  "no type": await sent({ method: "POST", mode: "no-cors", body: new Blob([chat]) }),
  "text/plain, read": await sent({ method: "POST", body: chat, headers: { "content-type": "text/plain" } }),
  json: await sent({ method: "POST", body: chat, headers: { "content-type": "application/json" } }),
  "a GET": await sent({ mode: "no-cors" }, `${gateway}/v1/files`),
  "an MCP call": await sent({ method: "POST", mode: "no-cors", body: "{}" }, `${gateway}/mcp/tools`),
  beacon: String(navigator.sendBeacon(path, new Blob([chat], { type: "text/plain" }))),
  image: await loaded("img", `${gateway}/v1/files`),
  script: await loaded("script", `${gateway}/v1/files`),
  form: await submitted("text/plain"),
  "form data": await submitted("multipart/form-data"),
  session: await new Promise((done) => {
    const socket = new WebSocket(`${gateway.replace("http", "ws")}/v1/realtime?model=sim-realtime`, ["realtime"]);
    socket.onopen = () => done("open");
    socket.onerror = () => done("no answer");
  }),
};
await fetch("/report", { method: "POST", body: JSON.stringify(results) });
