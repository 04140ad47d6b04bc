/** Texts for timing detection: about 1 KB each of what people and programs send. */

const repeated = (text: string): string => text.repeat(Math.ceil(1_000 / text.length)).slice(0, 1_000);

/** Texts by kind; each has its usual content, such as dates in a log. */
export const ORDINARY: Readonly<Record<string, string>> = {
  "English prose": repeated(
    "The delivery for the new shop was supposed to arrive on Tuesday, but the carrier called this morning and said that two " +
      "of the nine pallets are still in the depot. Could you write a short and friendly message to the team there? Last " +
      "year we had a similar problem with the order of 240 chairs, and it cost us about 1,300 pounds in overtime. ",
  ),
  "German prose": repeated(
    "Die Lieferung für das neue Geschäft sollte am Dienstag ankommen, aber die Spedition hat heute früh angerufen: Zwei der " +
      "neun Paletten stehen noch im Lager. Können Sie den Kollegen dort eine kurze, freundliche Nachricht schreiben? Im " +
      "letzten Jahr hatten wir bei 240 Stühlen dasselbe Problem, und das hat uns etwa 1.300 Euro an Überstunden gekostet. ",
  ),
  "Arabic prose": repeated(
    "كان من المفترض أن تصل الشحنة إلى المتجر الجديد يوم الثلاثاء، لكن شركة النقل اتصلت هذا الصباح وقالت إن اثنتين من المنصات " +
      "التسع ما زالتا في المستودع. هل يمكنك كتابة رسالة قصيرة وودية إلى الفريق هناك؟ في العام الماضي واجهنا مشكلة مماثلة مع " +
      "طلب ٢٤٠ كرسيا، وكلفنا ذلك نحو ١٣٠٠ في ساعات العمل الإضافية. ",
  ),
  code: repeated(
    "export async function readAll(paths: readonly string[], limit = 16): Promise<Map<string, string>> {\n" +
      "  const found = new Map<string, string>();\n  for (let at = 0; at < paths.length; at += limit) {\n" +
      "    const part = paths.slice(at, at + limit);\n    const texts = await Promise.all(part.map((it) => read(it.name)));\n" +
      "    texts.forEach((text, i) => found.set(part[i] ?? '', text ?? 'none'));\n  }\n  return found;\n}\n",
  ),
  log: repeated(
    "2026-03-14T09:26:53.589Z INFO  [worker-7] request finished method=GET path=/api/orders/48213 status=200 ms=35 " +
      "peer=10.20.30.40:51234 trace=4bf92f3577b34da6a3ce929d0e0e4736\n",
  ),
  identifiers: repeated(
    "Card 4111 1111 1111 1111, IBAN GB82 WEST 1234 5698 7654 32, SSN 536-90-4399, mail jo.lee@example.com, phone " +
      "+44 20 7946 0958, NHS 943 476 5919, host 192.168.17.4, account 12345678, passport 533380006, DNI 12345678Z. ",
  ),
};

/** Texts of the requested length without anything that ends a search early. */
export const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  "one word": (length) => "a".repeat(length),
  digits: (length) => "7".repeat(length),
  dashes: (length) => "-".repeat(length),
  "a@": (length) => "a@".repeat(length / 2),
  "Arabic digits": (length) => "٣".repeat(length),
  "groups of digits": (length) => "4111 ".repeat(length / 5),
  "dotted digits": (length) => "1.".repeat(length / 2),
};
