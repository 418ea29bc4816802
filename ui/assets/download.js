// Hands a text, or bytes in base64, that Python made to the browser as a file.
onValue(() => {
  const { text, base64, name, type } = view;
  if (!text && !base64) return;
  download(base64 ? Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)) : text, name, type);
});
