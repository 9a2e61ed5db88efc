"""The arithmetic of training on a GPU, and random delays that are the same on every machine.

`kernels` compiles and launches the CUDA source `kernels.cu`; `philox` draws delays, with it or with NumPy.
`roofline` counts what an update costs at least, and `block` shows its threads on paper.
Nothing here imports CuPy before it is asked to compute on a GPU.
"""
