/** Draws a Mermaid diagram in the browser, in the colors of the page. Until then, and without scripts, its text is shown. */

import { useData as pageData } from "vitepress";
import { defineComponent, h, onMounted, ref, watch } from "vue";

let drawn = 0;

export const MermaidDiagram = defineComponent({
  name: "MermaidDiagram",
  props: { code: { type: String, required: true } },
  setup(props) {
    const { isDark } = pageData();
    const text = decodeURIComponent(props.code);
    const svg = ref("");
    const draw = async (): Promise<void> => {
      const { default: mermaid } = await import("mermaid");
      mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark.value ? "dark" : "neutral" });
      drawn += 1;
      svg.value = (await mermaid.render(`diagram-${drawn}`, text)).svg;
    };
    onMounted(() => {
      void draw();
      watch(isDark, draw);
    });
    return () =>
      svg.value === ""
        ? h("pre", { class: "mermaid-text" }, text)
        : h("div", { class: "mermaid", innerHTML: svg.value, role: "img" });
  },
});
