// Hands a text that Python made to the browser as a file.
watch("value", () => {
  const { text, name } = props.value;
  if (!text) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
});
