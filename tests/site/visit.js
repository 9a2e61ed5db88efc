// Compares what is seen of each widget of a page with what the page's own widget state says must be seen: as the page
// opens ("look"), or in every state of every control, moved as a reader would ("move").  Run in the page by the tests.
async (how) => {
  const kept = document.querySelector('script[type="application/vnd.jupyter.widget-state+json"]');
  const state = kept ? JSON.parse(kept.textContent).state : {};
  const model = (reference) => state[String(reference).replace("IPY_MODEL_", "")].state;
  const pause = () => new Promise((resolve) => setTimeout(resolve));

  async function until(condition) {
    const began = performance.now();
    while (!condition()) {
      if (performance.now() - began > 2000) return null;
      await pause();
    }
    return performance.now() - began;
  }

  function move(control, index) {
    const handle = control.querySelector(".noUi-handle");
    if (handle) {
      const key = index === 0 ? "Home" : "ArrowRight"; // states are visited in order
      handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    } else if (control.querySelector("select")) {
      control.querySelector("select").selectedIndex = index;
      control.querySelector("select").dispatchEvent(new Event("change", { bubbles: true }));
    } else {
      control.querySelectorAll("button, input")[index].click();
    }
  }

  function place(control) {
    const handle = control.querySelector(".noUi-handle");
    if (handle) return Number(handle.getAttribute("aria-valuenow"));
    if (control.querySelector("select")) return control.querySelector("select").selectedIndex;
    return [...control.querySelectorAll("button")].findIndex((button) => button.classList.contains("mod-active"));
  }

  function markup(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.innerHTML;
  }
  const text = (element) => {
    const picture = element.querySelector("[role=img]");
    return picture ? picture.getAttribute("aria-label") : element.textContent;
  };

  function* product(sizes) {
    const total = sizes.reduce((a, b) => a * b, 1);
    for (let n = 0; n < total; n++) {
      let rest = n;
      yield sizes.map((size, d) => {
        const below = sizes.slice(d + 1).reduce((a, b) => a * b, 1);
        const index = Math.floor(rest / below);
        rest %= below;
        return index;
      });
    }
  }

  async function visitExplorer(box, root) {
    const controls = [...box.querySelectorAll(".widget-slider, .widget-toggle-buttons, .widget-dropdown")];
    const [pickers, frames] = root.children.map(model);
    const sizes = pickers.children.map(model)
      .map((picker) => (picker.children ? model(picker.children[1]) : picker)._options_labels.length);
    const visible = () => box.querySelector(".explorer-frames .widget-html-content");
    const result = { kind: "explorer", states: 0, wrong: [], texts: [], sizes };
    const wanted = (indexes) =>
      markup(indexes.reduce((stack, index) => model(stack.children[index]), model(frames.children[0])).value);
    const at = controls.map(place);
    if (how === "look") {
      const start = pickers.children.map(model)
        .map((picker) => (picker.children ? model(picker.children[1]) : picker).index);
      if (at.join() !== start.join()) result.wrong.push(`starts at ${at} instead of ${start}`);
      if (!visible() || visible().innerHTML !== wanted(start)) result.wrong.push(`does not show ${start}`);
      return result;
    }
    for (const indexes of product(sizes)) {
      let took = 0;
      for (let d = 0; d < sizes.length && took !== null; d++) {
        if (at[d] === indexes[d]) continue;
        const old = visible();
        move(controls[d], indexes[d]);
        at[d] = indexes[d];
        const html = wanted(at);
        took = await until(() => visible() && visible() !== old && visible().innerHTML === html);
      }
      result.states += 1;
      const seen = visible();
      if (!seen || seen.innerHTML !== wanted(indexes)) result.wrong.push(indexes.join());
      else result.texts.push(text(seen));
    }
    return result;
  }

  async function visitPrediction(box, root) {
    const answers = model(root.children[2]).children.map((child) => markup(model(child).value));
    const said = box.querySelector(".predict-answer");
    const result = { kind: "prediction", states: 0, wrong: [], texts: [], sizes: [answers.length] };
    if (how === "look") {
      if (said.textContent) result.wrong.push("answered before it was asked");
      if (box.querySelector("input:checked")) result.wrong.push("chose before it was asked");
      return result;
    }
    const shown = () => said.querySelector(".widget-html-content");
    for (let i = 0; i < answers.length; i++) {
      const old = shown(); // two wrong options may be answered in the same words
      move(box.querySelector(".widget-radio-box"), i);
      const took = await until(() => shown() && shown() !== old && shown().innerHTML === answers[i]);
      result.states += 1;
      if (took === null) result.wrong.push(String(i));
      else result.texts.push(said.textContent);
    }
    return result;
  }

  const results = [];
  for (const view of document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')) {
    const root = model(JSON.parse(view.textContent).model_id);
    const box = view.parentElement.querySelector(".explorer, .predict");
    if (!box) results.push({ kind: "nothing", states: 0, wrong: ["not drawn"], texts: [], sizes: [] });
    else results.push(await (box.classList.contains("predict") ? visitPrediction : visitExplorer)(box, root));
  }
  return results;
}
