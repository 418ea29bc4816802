// Tells the prompt's view its tokens, for which it asks when somebody points at the text.
onValue(() => document.dispatchEvent(new CustomEvent("pp-tokens", { detail: view })));
