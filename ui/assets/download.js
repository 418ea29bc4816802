// Hands a text, or bytes in base64, that Python made to the browser as a file.
onValue(() => {
  const { text, base64, name, type } = view;
  if (!text && !base64) return;
  const bytes = base64 ? Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)) : text;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: type ?? "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
});
