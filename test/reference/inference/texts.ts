/** Two hundred fixed texts in five scripts: names, sentences, punctuation, marks, emoji, line breaks, long texts. */
import { numbers } from "./graphs.ts";

const WORDS: readonly (readonly string[])[] = [
  "my name is Alice Müller-Lüdenscheidt and I live in Berlin, Jean-Pierre's friend works for Acme Corp. (R&D) near São Paulo; e-mail naïve café résumé don't stop! €5 50% #tag @home".split(
    " ",
  ),
  "اسمي محمد وأعيش في القاهرة مُحَمَّد رســول السلام عليكم، كيف حالك؟ شركة أرامكو السعودية".split(" "),
  "меня зовут Анна Каренина, и я живу в Санкт-Петербурге. Работаю в «Газпроме» ёлка й".split(" "),
  "我叫王小明,住在北京。 你好,世界! 東京タワー 김철수는 서울에 산다".split(" "),
  "मेरा नाम अमित है। मैं दिल्ली में रहता हूँ नमस्ते दुनिया क्षत्रिय".split(" "),
];
const UNUSUAL_TEXTS = [
  "😀",
  "👩‍👩‍👧",
  "𝒜𝓁𝒾𝒸ℯ",
  "\n",
  "\t",
  "...",
  "--",
  "([",
  "x",
  "\u00a0",
  "e\u0301te\u0301",
  "ﬁn",
  "１２３",
  "[SEP]",
];

export function texts(): readonly string[] {
  const next = numbers(4711);
  const below = (limit: number): number => Math.min(limit - 1, Math.floor(((next() + 1) / 2) * limit));
  return Array.from({ length: 200 }, (_, at) => {
    const words = WORDS[at % WORDS.length] as readonly string[];
    const count = at % 10 === 9 ? 60 + below(60) : 1 + below(14);
    let text = "";
    for (let word = 0; word < count; word++) {
      const unusual = below(8) === 0;
      const mixed = below(12) === 0 ? (WORDS[below(WORDS.length)] as readonly string[]) : words;
      text += unusual ? UNUSUAL_TEXTS[below(UNUSUAL_TEXTS.length)] : mixed[below(mixed.length)];
      if (below(7) > 0) text += below(20) === 0 ? "  " : " ";
    }
    return text;
  });
}

/** Texts about topics, and ordinary texts. */
export const TOPICS = [
  { name: "people", examples: ["my name is Alice", "меня зовут Анна", "اسمي محمد"] },
  { name: "places", examples: ["I live in Berlin", "住在北京。", "मैं दिल्ली में रहता हूँ"] },
] as const;
export const BACKGROUND = ["don't stop! €5 50%", "السلام عليكم، كيف حالك؟", "你好,世界!", "नमस्ते दुनिया"] as const;
