"""model.py - what server.py serves: a decoder of random weights, as large as a small language model"""

import torch

LAYERS, WIDTH, HEADS, WORDS, TOKENS = 12, 1024, 16, 32000, 24


class Model:
    def __init__(self):
        torch.manual_seed(1)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).to("cuda", torch.bfloat16).eval()
        self.words = torch.nn.Embedding(WORDS, WIDTH).to("cuda", torch.bfloat16)
        self.generate([1])

    def generate(self, prompts):
        """Of each prompt, a number, the text of its tokens, the likeliest each time."""
        with torch.inference_mode():
            tokens = torch.tensor(prompts, device="cuda").reshape(-1, 1) % WORDS
            for _ in range(TOKENS):
                n = tokens.shape[1]
                mask = torch.triu(torch.full((n, n), float("-inf"), device="cuda", dtype=torch.bfloat16), 1)
                last = self.layers(self.words(tokens), mask=mask)[:, -1]
                tokens = torch.cat([tokens, (last @ self.words.weight.T).argmax(-1, keepdim=True)], 1)
        return [" ".join(map(str, t)) for t in tokens.tolist()]
