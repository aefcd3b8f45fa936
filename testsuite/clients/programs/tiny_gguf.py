"""tiny_gguf.py FILE - a language model of 11 MB with random weights, which says words as w17"""

import sys

import gguf
import numpy as np

VOCABULARY, WIDTH, HEADS, LAYERS, FORWARD = 512, 256, 4, 4, 512
SPECIAL = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]


def vocabulary(out):
    words = [f"w{i}" for i in range(VOCABULARY - len(SPECIAL))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    out.add_tokenizer_model("llama")
    out.add_token_list(SPECIAL + words)
    out.add_token_scores([0.0] * VOCABULARY)
    out.add_token_types(kinds + [gguf.TokenType.NORMAL] * len(words))
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)


def weights(out):
    chance = np.random.default_rng(7)

    def random(*shape):
        return (chance.standard_normal(shape) * 0.05).astype(np.float32)
    last = random(VOCABULARY, WIDTH)
    last[:len(SPECIAL)] = 0  # the most likely token is a word
    out.add_tensor("token_embd.weight", random(VOCABULARY, WIDTH))
    out.add_tensor("output.weight", last)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for i in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{i}.{name}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            out.add_tensor(f"blk.{i}.{name}.weight", random(WIDTH, WIDTH))
        for name, shape in (("gate", (FORWARD, WIDTH)), ("up", (FORWARD, WIDTH)), ("down", (WIDTH, FORWARD))):
            out.add_tensor(f"blk.{i}.ffn_{name}.weight", random(*shape))


def main():
    out = gguf.GGUFWriter(sys.argv[1], "llama")
    out.add_name("tiny")
    out.add_context_length(8192)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FORWARD)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(VOCABULARY)
    vocabulary(out)
    weights(out)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


main()
